-- What is no flight (same airport twice), is doubled, or claims a delay of more than a day is left out.
COPY (
  SELECT DISTINCT
    "date" AS departed_at,
    "date"::DATE AS flown_on,
    month,
    origin,
    destination,
    distance AS distance_mi,
    delay AS delay_min
  FROM read_parquet('out/raw/*/*.parquet', hive_partitioning = true)
  WHERE abs(delay) <= 1440 AND origin <> destination
) TO (getvariable('out_flights')) (FORMAT parquet, PARTITION_BY (month));
