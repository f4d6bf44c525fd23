"""The load: pre-bind, open-loop churn, bursts and steps, request timing. Written once, for every world."""
