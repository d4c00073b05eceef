"""Answers to the four questions that a chemist asks about mixtures.

``how_many``
    How many sources are in the data? `ngmca.choose_rank` gives a number and a range.
``which``
    Which substance is each source? `ngmca.identify` compares the sources with a reference library.
``how_much``
    How much of each substance is in each measurement? `ngmca.quantify` gives concentrations with
    intervals.
``how_sure``
    How well does the separation explain the data, and what should a reader doubt?

`Answers` collects the answers that were asked for in one run, and `Run` is everything that a run leaves:
the separation, its diagnostics and its answers.
"""
