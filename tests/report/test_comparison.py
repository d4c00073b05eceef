"""Two results side by side."""

from dataclasses import replace

import numpy as np
import pytest
from plotly_figures import checked

import ngmca
from ngmca.answers.how_sure import diagnose
from ngmca.answers.run import Run
from ngmca.io import Dataset
from ngmca.report import comparison


@pytest.fixture(scope="module")
def run():
    Y = ngmca.simulate.spectra(m=8, n=200, r=3, lines=4, snr=25, seed=0).Y
    found = ngmca.separate(Y, 3, method=ngmca.Soft(n_iter=20), n_init=1)
    return Run(found, diagnose(Y, found), Dataset(Y, np.linspace(9, 1, 200)))


def test_sources_are_paired_whatever_their_order_scale_and_axis(run):
    order = [2, 0, 1]
    S, A = 3 * run.separation.S[order, ::-1], run.separation.A[:, order]
    turned = replace(run, data=replace(run.data, axis=run.data.axis[::-1]))
    other = replace(turned, separation=replace(run.separation, S=S, A=A))
    found = comparison.pairs(run, other)
    assert [one.other for one in found] == ["source 2", "source 3", "source 1"]
    assert [one.words for one in found] == ["the same"] * 3
    assert [one.cosine for one in found] == pytest.approx([1, 1, 1])
    assert len(checked(comparison.figure(run, other)).data) == 6


def test_sources_without_a_partner_and_other_ones_are_told(run):
    S = run.separation.S.copy()
    S[1] = S[1, ::-1]
    fewer = replace(run, separation=replace(run.separation, S=S[:2], A=run.separation.A[:, :2]))
    words = [(one.one, one.other, one.words) for one in comparison.pairs(run, fewer)]
    assert words[0] == ("source 1", "source 1", "the same")
    assert words[1][2] == "different" or words[2][2] == "different"
    assert ("only in the first") in [one[2] for one in words]
    alone = comparison.pairs(fewer, run)[-1]
    assert (alone.one, alone.words) == (None, "only in the second")


def test_no_common_axis_is_told(run):
    other = replace(run, data=replace(run.data, axis=np.linspace(20, 30, 200)))
    with pytest.raises(ngmca.io.ReadError, match="no part of the axis in common"):
        comparison.pairs(run, other)
