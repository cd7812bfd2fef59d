"""Models behind the APIs of providers: `app` is where a request goes, `chat_exchange` is one from first byte to last."""
