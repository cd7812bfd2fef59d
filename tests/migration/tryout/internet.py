"""One local server in the place of the internet: a proxy that answers for every host, over TLS, too.

A program reaches it by the variables of its environment (``HTTPS_PROXY``, ``SSL_CERT_FILE`` …), whichever client it has.
What git clones from GitHub is a small repository here.
"""

import contextlib
import ssl
import subprocess
import tempfile
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import trustme

from tests.migration.tryout.answers import answer

__all__ = ["serve_internet"]

_KEYS = (
    *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "COHERE_API_KEY", "TAVILY_API_KEY"),
    *("LANGSMITH_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY", "FIRECRAWL_API_KEY", "HUGGINGFACEHUB_API_TOKEN"),
    *("OPENWEATHERMAP_API_KEY", "SERPER_API_KEY", "SERPAPI_API_KEY", "DEEPSEEK_API_KEY", "USER_AGENT"),
)


class _Internet(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, authority: trustme.CA) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self._authority = authority
        self._contexts: dict[str, ssl.SSLContext] = {}
        self.asked: list[str] = []

    def make_context(self, host: str) -> ssl.SSLContext:
        """Return the settings of a TLS server that stands for a host."""
        if host not in self._contexts:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._authority.issue_cert(host).configure_cert(context)
            self._contexts[host] = context
        return self._contexts[host]

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a client that leaves is none of ours."""


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Internet
    host: str = ""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_CONNECT(self) -> None:
        """Speak TLS as the host that is asked for."""
        host = self.path.partition(":")[0]
        self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        with contextlib.suppress(OSError):
            secured = self.server.make_context(host).wrap_socket(self.connection, server_side=True)
            type("_Secured", (_Answering,), {"host": host})(secured, self.client_address, self.server)
        self.close_connection = True

    def do_GET(self) -> None:
        """Answer."""
        length = int(self.headers.get("Content-Length") or 0)
        host = self.host or self.headers.get("Host", "")
        self.server.asked.append(f"{host}{self.path}")
        kind, content = answer(host, self.path, self.rfile.read(length))
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_POST = do_HEAD = do_PUT = do_GET


@contextlib.contextmanager
def serve_internet() -> Generator[dict[str, str]]:
    """Run the server.

    Yields:
        the environment of a program that is to reach it.
    """
    authority = trustme.CA()
    with tempfile.TemporaryDirectory() as name, _Internet(authority) as server:
        folder = Path(name)
        certificates = folder / "authority.pem"
        authority.cert_pem.write_to_path(str(certificates))
        proxy = f"http://127.0.0.1:{server.server_address[1]}"
        source = _make_source(folder / "source")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield {
                **dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"), proxy),
                **dict.fromkeys(("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"), str(certificates)),
                **dict.fromkeys(_KEYS, "hf_key"),
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": f"url.{source}.insteadOf",
                "GIT_CONFIG_VALUE_0": "https://github.com/langchain-ai/langchain",
            }
        finally:
            server.shutdown()


def _make_source(folder: Path) -> Path:
    """Make a repository of two pages, on a branch that programs ask for."""
    (folder / "docs").mkdir(parents=True)
    for page in ("s3", "home"):
        (folder / "docs" / f"{page}.mdx").write_text(f"# {page}\n\n" + "The loader reads a bucket.\n" * 20)
    settings = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    for command in (["init", "-qb", "master"], ["add", "-A"], [*settings, "commit", "-qm", "all"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder
