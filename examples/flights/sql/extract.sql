COPY (
  SELECT
    a.airport,
    p.name,
    p.city,
    p.state,
    sum(a.flights) AS flights,
    round(100.0 * sum(a.late_flights) / sum(a.flights), 1) AS late_percent
  FROM airport_days AS a
  JOIN airports AS p ON p.iata = a.airport
  GROUP BY ALL
  HAVING sum(a.flights) >= 10000
  ORDER BY late_percent DESC, airport
  LIMIT 10
) TO (getvariable('out_worst_airports')) (HEADER);
