"""Everything between an agent and a model: prices, the gateway, recordings, transcripts, judging."""
