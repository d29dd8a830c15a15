"""MQ141, MQ142: the words of `mqctl.diagnosis.mq1_controllers` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ141": Text(
        title="A master is alone in its sync state set",
        what={"": "{broker} runs under a controller and nobody is in sync with it, though it has {slave_count:slave}."},
        effect="If it fails now, no master can be elected; with enableElectUncleanMaster the new master is missing "
        "messages.",
        advice="Check that the slaves run, that their heartbeats reach the leader of the controllers, and that they catch up. `mqctl ha status -o wide` "
        "shows the set as the controller has it, and the epochs of each broker.",
        explain="A slave leaves the set when its connection closes, or after 15 s behind; it returns when it has "
        "caught up. The leading controller tells the set, also of slaves that died; a master with no slave is not judged.",
        next_command="mqctl ha status {source} {broker} -o wide",
    ),
    "MQ142": Text(
        title="No controller could elect a master",
        what={
            "": "{controller_count:controller} of {broker_count:broker} cannot be reached: {addresses}.",
            "leaderless": "The controllers that {broker_count:broker is/are} set to have no leader; {silent_count:controller does/do} not answer.",
            "some": "{silent_count:controller does/do} not answer ({addresses}); the others have a leader.",
            "no-master": "The controller has no master for {broker}: none of the {candidate_count} in its sync state set can be elected.",
        },
        effect="Running brokers keep their roles, but nothing fails over: a master that dies is not replaced, and a broker that is restarted stays fenced (id -1, sends are "
        "answered SERVICE_NOT_AVAILABLE). With a minority of the controllers gone all still works; the next one lost may stop elections.",
        advice="Start the controllers, and check that brokers reach each address of their controllerAddr. They may answer brokers and not you: look from a broker's machine as well.",
        explain="Asks every address of controllerAddr who leads (request 1005), and the leader for the sync state sets (1006). Elections need a majority of the controllers. "
        "No candidate: all members of the set are down; with enableElectUncleanMaster others may be elected, and messages are lost.",
        next_command="mqctl ha status {source} -o wide",
    ),
}
