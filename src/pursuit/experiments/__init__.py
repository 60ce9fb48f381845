"""The two experiments of the paper's section 4, run again with the printed and the valid constants."""
