#!/usr/bin/env python3
"""Pace and memory of `wheel`, measured against a local server that answers after a fixed time.

    python3 benches/pace.py target/release/wheel

Prints each figure beside its bound. Nothing leaves this machine; the run ends by itself.
"""
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time

DELAY, CONCURRENCY, PROMPTS = 0.3, 64, 2000
REPLY = json.dumps({
    "id": "x", "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "less\nESTIMATE: 100"}}],
    "usage": {"prompt_tokens": 60, "completion_tokens": 8, "total_tokens": 68},
}).encode()


RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(REPLY) + REPLY


class Slow(asyncio.Protocol):
    """Answers each request of a connection after the delay; the requests of one connection come one by one."""

    def connection_made(self, transport):
        self.transport, self.buffer = transport, b""

    def data_received(self, data):
        self.buffer += data
        head, separator, body = self.buffer.partition(b"\r\n\r\n")
        if separator:
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            if len(body) >= length:
                self.buffer = b""
                asyncio.get_running_loop().call_later(DELAY, self.transport.write, RESPONSE)


def start_server():
    loop, port = asyncio.new_event_loop(), []
    ready = threading.Event()

    async def main():
        server = await asyncio.get_running_loop().create_server(Slow, "127.0.0.1", 0)
        port.append(server.sockets[0].getsockname()[1])
        ready.set()

    def run():
        asyncio.set_event_loop(loop)
        loop.run_until_complete(main())
        loop.run_forever()

    threading.Thread(target=run, daemon=True).start()
    ready.wait()
    return port[0]


def main():
    wheel = os.path.abspath(sys.argv[1])
    times = []
    for _ in range(20):
        began = time.perf_counter()
        subprocess.run([wheel, "--help"], stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - began)
    print(f"wheel --help: median {statistics.median(times) * 1000:.1f} ms of 20 (bound 20 ms)")

    port = start_server()
    with tempfile.TemporaryDirectory() as folder:
        epochs = PROMPTS // 80
        words = [wheel, "run", "--model", f"http://127.0.0.1:{port}/v1#m", "--task", "classic", "--epochs", str(epochs),
                 "--concurrency", str(CONCURRENCY), "--quiet"]
        began = time.perf_counter()
        subprocess.run(words, cwd=folder, stdout=subprocess.DEVNULL, check=True)
        took = time.perf_counter() - began
        ideal = PROMPTS / CONCURRENCY * DELAY
        lines = sum(1 for _, _, files in os.walk(folder) for name in files if name.endswith(".jsonl"))
        assert lines == 1
        print(f"{PROMPTS} prompts, {CONCURRENCY} at a time, {DELAY} s each: {took:.2f} s, {took / ideal:.3f} x the ideal {ideal:.3f} s (bound 1.05)")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"peak memory of the process: {peak:.0f} MB (bound 60 MB)")


main()
