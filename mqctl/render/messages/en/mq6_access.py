"""MQ63x: the words of `mqctl.diagnosis.mq6_access` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ630": Text(
        title="Access differs between brokers",
        what={
            "": "{users} of {cluster} differ between the brokers {brokers}: {user_count:user} in all.",
            "open": "{open_count} of {broker_count:broker} of {cluster} have no access control: {brokers}.",
        },
        effect="Clients are served by one broker and refused by another; with a broker that checks nobody, the "
        "rules of the others protect little.",
        advice="Give all masters the same switches in their configuration files, and the same users: `acl grant` and `acl create-user` "
        "go to all masters at once.",
        explain="Compares aclEnable, authenticationEnabled and authorizationEnabled of the masters, and their users and entries. Each "
        "broker has users of its own; nothing keeps them the same.",
        next_command="mqctl acl list {source}",
    ),
    "MQ631": Text(
        title="Open to every user",
        what={
            "": "{broker} lets each of its {user_count:ordinary user} ({users}) change groups and broker configuration.",
            "password": "{broker} returns the password of a Super user to each of its {user_count:ordinary user} ({users}): {properties}.",
            "list": "{broker} lets each of its {user_count:ordinary account} ({users}) put and delete accounts, and make itself an admin.",
        },
        effect="5.3.3 checks no policy for creating and changing groups (200) nor for reading and changing broker configuration (26, 25). "
        "4.9.8 does not check who changes accounts and white lists (50, 51, 53). With the password of a Super user there is no limit.",
        advice="Remove first users from the configuration once they exist, change their passwords, and let only trusted networks reach "
        "the brokers; applications can go through a proxy.",
        explain="Request 26 answers all properties, initAuthenticationUser and innerClientAuthenticationCredentials among them, to anybody "
        "whose signature is valid. A broker with Super users only is left alone.",
        next_command="mqctl acl list {source}",
    ),
    "MQ632": Text(
        title="Entries contradict each other",
        what={"": "On {broker}, user {user} is denied {deny} and allowed {allow}; both fit the same requests."},
        effect="Which one wins depends on the order in which they were added and on prefix lengths: Deny does not "
        "always win.",
        advice="Make the names disjoint, or remove one of the two; `acl explain` shows what the broker decides now.",
        explain="A literal name and a prefix outrank each other in turn, so that the one added last wins; of two prefixes the shorter one "
        "does. Entries that share no action, or are of different policies, are left alone.",
        next_command="mqctl acl list {source} --user {user}",
    ),
    "MQ633": Text(
        title="A default password",
        what={
            "": "On {broker}, {user_count:user} ({users}) {user_count:/has/have} a password from RocketMQ's examples, or the user name as password."
        },
        effect="Whoever reaches the broker can act as this user.",
        advice="Set another password, and give it to the clients: `acl update-user USER --password-file FILE`, on 4.9 `acl put-account KEY`.",
        explain="Compares passwords, where brokers return them or 4.9's access files are on this host, with those of RocketMQ's examples and with the name. No snapshot or report "
        "has the password itself. Disabled users are left alone.",
        next_command="mqctl acl list {source}",
    ),
    "MQ634": Text(
        title="The access list lets requests in without keys",
        what={
            "": "{broker} does not check who asks: the white list of {files} has an address that stands for everybody.",
            "account": "{broker} takes requests of {account_count:account} ({accounts}) from anywhere without a signature.",
        },
        effect="Whoever reaches the broker can do everything, or everything that these accounts may do: an access key is no secret.",
        advice="Name the addresses that need it, or none: `acl white-list 10.1.2.*`, `acl put-account KEY --white-address 10.1.2.3`.",
        explain="Reads the access files of 4.9 brokers that run on this host, when mqctl may read them and their version is the broker's: no "
        "request of 4.9.8 tells what they say. `*` and `*.*.*.*` stand for everybody.",
        next_command="mqctl acl list {source}",
    ),
}
