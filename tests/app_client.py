"""The name and the token of the server in tests of the page."""

TOKEN, HOST = "a-token-of-24-letters-xyz", "127.0.0.1:8000"
ORIGIN = {"Origin": f"http://{HOST}"}
