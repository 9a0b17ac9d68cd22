// Requests to a service on this machine: node benchmarks/load.js '{"port":8000,"path":"/predict","bodies":[...],"clients":16,"seconds":60,"garbage":0}'
// Each client waits for its answer before it asks again. Prints one JSON object: answers by status, and latencies in ms.
"use strict";
const http = require("node:http");
const { port, path, bodies, clients, seconds, garbage } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const agent = new http.Agent({ keepAlive: true, maxSockets: clients });
const statuses = {}, wrong = {}, times = [];
const end = Date.now() + 1000 * Math.min(seconds, 600);
const RUBBISH = ["{", '{"inputs": 3}', '{"inputs": []}', '{"inputs": "a", "confidence": 9}', "\u0000\uffff", '{"inputs": [""]}'];

function ask(body, counts, done) {
  const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
  const start = process.hrtime.bigint();
  const request = http.request({ host: "127.0.0.1", port, path, agent, method: body ? "POST" : "GET", headers }, answer => {
    answer.resume();
    answer.on("end", () => {
      counts[answer.statusCode] = (counts[answer.statusCode] || 0) + 1;
      if (counts === statuses) times.push(Number(process.hrtime.bigint() - start) / 1e6);
      done();
    });
  });
  request.on("error", () => { counts.failed = (counts.failed || 0) + 1; setTimeout(done, 5); });
  request.end(body);
}

function client(number) {
  if (Date.now() > end) return;
  const bad = number < garbage;
  const body = bad ? RUBBISH[Math.floor(Math.random() * RUBBISH.length)] : bodies[Math.floor(Math.random() * bodies.length)];
  ask(body, bad ? wrong : statuses, () => client(number));
}
for (let number = 0; number < clients; number++) client(number);
process.on("exit", () => {
  times.sort((a, b) => a - b);
  const at = share => times.length ? Number(times[Math.floor(share * (times.length - 1))].toFixed(2)) : null;
  console.log(JSON.stringify({ statuses, wrong, p50: at(0.5), p99: at(0.99) }));
});
