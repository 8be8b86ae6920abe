"""The door between virtual time and execution: who answers the server's questions."""
