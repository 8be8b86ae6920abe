"""The same scenario by Flower: its SuperLink, its SuperNodes, its FedAvg."""
