"""The note that stands for what is gone."""

from amrita_fleet.runtime.step.recap import Recap


def test_its_parts_stand_in_order_and_the_request_last() -> None:
    recap = Recap("So.", True, ("Old.",), ("[Message 1]\nHi.", "[Message 2]\nHo."), "[Plan status]\nnone", "New.")  # noqa: FBT003

    assert recap.text == (
        "[Note: summary of earlier messages]\nSo.\n\n[Note: earlier messages left out]\n\n"
        "[Note: earlier requests, all done]\n- Old.\n\n[Message 1]\nHi.\n\n[Message 2]\nHo.\n\n"
        "[Plan status]\nnone\n\n[Note: current request]\nNew."
    )


def test_parts_that_are_empty_have_no_head() -> None:
    assert Recap(slid=True).text == "[Note: earlier messages left out]"
