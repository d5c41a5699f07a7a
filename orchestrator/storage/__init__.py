"""Where rows live: journal, Parquet partitions, dimension tables, transcripts."""
