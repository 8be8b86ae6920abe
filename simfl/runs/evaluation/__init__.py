"""How well final models serve each client, as they are or fine-tuned by it.

`evaluate` judges the model of one run, perhaps after a `fine_tune` by each client, for a
`client_evaluation`; of two variants there are `client_differences`.
"""
