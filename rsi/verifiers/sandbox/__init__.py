"""Processes for code that nobody trusts.

This folder is two things. `process` is the parent's side: it starts, waits and kills. The rest is run by a bare
interpreter as ``python <this folder>``, imports nothing but the standard library and each other, and is what stands
inside: `confine` gives away what the process may do, `wire` writes values as text, `tested` runs the code,
`trial` runs the tests against it.
"""
