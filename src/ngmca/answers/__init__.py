"""What a chemist asks of a separation: how many sources, which substances, how much of each."""
