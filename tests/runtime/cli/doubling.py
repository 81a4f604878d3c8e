"""What a simulated model does that is asked to double numbers, for commands that run agents on it."""

SCENARIO = """
models: [doubler]
rules:
  - when: {last_role: user, user: 'double (?P<number>\\d+)', tools_include: [double]}
    calls:
      - {name: double, arguments: {number: "{number:d}"}}
  - when: {last_role: tool, tool: '(?P<result>\\d+)'}
    say: It is {result}.
"""
