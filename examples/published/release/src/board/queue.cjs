// queue ADDRESS PORT DATABASE: takes lines by POST and hands them to the database in their order, as soon as it takes them.
'use strict';
const { createServer } = require('node:http');
const { setTimeout: sleep } = require('node:timers/promises');
const { text } = require('node:stream/consumers');

const [address, port, database] = process.argv.slice(2);
const lines = [];
let isAtWork = false;

async function handOver() {
  if (isAtWork) return;
  isAtWork = true;
  while (lines.length > 0) {
    try {
      const { status } = await fetch(database, { method: 'POST', body: lines[0] });
      if (status === 201) lines.shift();
      else await sleep(200);
    } catch {
      // the database restarts
      await sleep(200);
    }
  }
  isAtWork = false;
}

const server = createServer(async (request, response) => {
  if (request.method !== 'POST') return response.writeHead(405, { allow: 'POST' }).end();
  lines.push((await text(request)).trim());
  response.writeHead(202).end();
  await handOver();
});
server.listen(Number(port), address, () => console.log(`listening on ${address}:${port}`));
process.on('SIGTERM', async () => {
  server.close();
  while (lines.length > 0) await sleep(50);
  process.exit(0);
});
