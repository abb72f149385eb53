"""What a person reads: the Markdown card, the HTML report, their charts; made from records and counts."""
