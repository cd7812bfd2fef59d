// Browsers start no worker for a page that was opened as a file, and the search is one. There it runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.frame = frame;
      const scope = frame.contentWindow;
      scope.postMessage = (data) => setTimeout(() => this.onmessage?.({ data: structuredClone(data) }));
      const script = scope.document.createElement("script");
      script.src = url;
      this.ready = new Promise((resolve) => (script.onload = resolve));
      scope.document.body.append(script);
    }

    postMessage(data) {
      const copy = structuredClone(data);
      this.ready.then(() => setTimeout(() => this.frame.contentWindow.onmessage({ data: copy })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
