"""What a fleet should be, as files: policy, queues, prices, budgets, roles; and what differs.

May import the other folders of `specs`, and the model.
"""
