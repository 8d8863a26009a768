CREATE OR REPLACE TABLE airport_days AS
SELECT
  flown_on,
  origin AS airport,
  count(*) AS flights,
  round(avg(delay_min), 2) AS mean_delay_min,
  quantile_disc(delay_min, 0.9) AS p90_delay_min,
  count(*) FILTER (delay_min > 15) AS late_flights
FROM read_parquet('out/flights/*/*.parquet', hive_partitioning = true)
GROUP BY ALL;
