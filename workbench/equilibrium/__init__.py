"""Where learning can settle: observation MDPs, the fixed points of learners, mean fields."""
