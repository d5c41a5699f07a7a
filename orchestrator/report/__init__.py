"""From a summary to one HTML file and its charts; reads no rows."""
