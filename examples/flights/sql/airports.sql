CREATE OR REPLACE TABLE airports AS
SELECT iata, name, city, state
FROM read_csv('data/airports.csv', header = true, all_varchar = true);
