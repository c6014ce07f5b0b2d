// database ADDRESS PORT FILE: POST appends a line to FILE and answers once it is on the disk; GET answers all of them.
'use strict';
const { createServer } = require('node:http');
const { open, readFile } = require('node:fs/promises');
const { text } = require('node:stream/consumers');

const [address, port, file] = process.argv.slice(2);

async function append(line) {
  const handle = await open(file, 'a');
  try {
    await handle.appendFile(`${line}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const server = createServer(async (request, response) => {
  try {
    if (request.method === 'POST') {
      await append((await text(request)).trim());
      response.writeHead(201).end();
    } else {
      const lines = await readFile(file);
      response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(lines);
    }
  } catch (error) {
    response.writeHead(500, { 'content-type': 'text/plain' }).end(`${file}: ${error.code}\n`);
  }
});
server.listen(Number(port), address, () => console.log(`listening on ${address}:${port}`));
process.on('SIGTERM', () => server.close(() => process.exit(0)).closeAllConnections());
