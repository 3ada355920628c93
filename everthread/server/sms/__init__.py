"""server.sms."""
