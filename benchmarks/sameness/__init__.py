"""Shows that this tree answers every command line as a named commit does.

    python -m benchmarks.sameness                       against the commit that sameness.toml names
    python -m benchmarks.sameness --base v0.2.0         against another one
    python -m benchmarks.sameness --group 'store*'      only some groups of cases; `--only 'group *'` some lines

Both trees run the lines of cases.yaml on the same inputs: recorded stores, snapshots, a recording, thread dumps, and
clusters of their own embedded broker that the same directions bring into the same state. The wall clock, random bytes,
process ids and the room on disks are fixed (shim/sitecustomize.py), time on the clusters passes by hand only, and sets
have another order in each tree. Every line runs in several formats and in both languages. Compared are the exit code,
stdout (JSON and CSV field by field, tables line by line) and stderr.

A difference is named by command, format, group of cases and path, the same ones of many lines once. One that is meant
gets an entry with its reason in sameness.toml; entries that allow nothing any more, commands without a case and lines
that one tree did not answer fail as well. What differs is run once more in both trees: what then is equal is printed as
UNSTABLE and fails nothing. The answers of the base are kept in build/sameness, by commit, cases, ports and libraries.

After a change that is meant to change answers, name the commit of that change as `base`, and remove the entries.
"""
