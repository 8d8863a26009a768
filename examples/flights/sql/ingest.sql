-- As delivered, one folder a month. The target is a staged path: nobody sees it before it is whole.
COPY (
  SELECT *, month("date") AS month
  FROM read_parquet('data/flights-3m.parquet')
) TO (getvariable('out_flights')) (FORMAT parquet, PARTITION_BY (month));
