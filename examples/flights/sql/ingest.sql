-- What is no flight (same airport twice), is doubled, or claims a delay of more than a day is left out.
-- The target is a staged path: nobody sees it before it is whole.
COPY (
  SELECT DISTINCT
    "date" AS departed_at,
    "date"::DATE AS flown_on,
    month("date") AS month,
    origin,
    destination,
    distance AS distance_mi,
    delay AS delay_min
  FROM read_parquet('data/flights-3m.parquet')
  WHERE abs(delay) <= 1440 AND origin <> destination
) TO (getvariable('out_flights')) (FORMAT parquet, PARTITION_BY (month));
