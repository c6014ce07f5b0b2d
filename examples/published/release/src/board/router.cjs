// router ADDRESS PORT DATABASE QUEUE DRAINS TITLE: the board for people. POST /hang makes it answer 503 from then on.
'use strict';
const { createServer } = require('node:http');
const { readFile } = require('node:fs/promises');
const { text } = require('node:stream/consumers');

const [address, port, database, queue, drains, title] = process.argv.slice(2);
let hangs = false;

async function board() {
  const notes = await (await fetch(database)).text();
  const drained = await readFile(drains, 'utf8').catch(() => '');
  const count = drained.split('\n').length - 1;
  return `${title}\n${notes}Drained ${count} ${count === 1 ? 'time' : 'times'}.\n`;
}

const server = createServer(async (request, response) => {
  try {
    if (request.url === '/hang') hangs = true;
    if (hangs) return response.writeHead(503).end('hangs\n');
    if (request.method === 'POST') {
      const { status } = await fetch(queue, { method: 'POST', body: await text(request) });
      response.writeHead(status).end();
    } else {
      const page = await board();
      response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(page);
    }
  } catch {
    response.writeHead(502).end('database or queue does not answer\n');
  }
});
server.listen(Number(port), address, () => console.log(`listening on ${address}:${port}`));
// drain: answers what is under way, and takes nothing more
process.on('SIGUSR1', () => server.close(() => process.exit(0)).closeIdleConnections());
process.on('SIGTERM', () => server.close(() => process.exit(0)).closeAllConnections());
