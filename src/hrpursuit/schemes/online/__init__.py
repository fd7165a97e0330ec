"""The learner that goes through a stream of rows once, and follows its dictionary."""
