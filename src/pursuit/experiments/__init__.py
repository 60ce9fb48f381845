"""The two experiments of the paper's section 4, with its constants and with valid ones."""
