// hello-server ADDRESS PORT FILE: answers every GET with what FILE holds at that moment.
'use strict';
const { createServer } = require('node:http');
const { readFile } = require('node:fs/promises');

const [address, port, file] = process.argv.slice(2);

const server = createServer(async (request, response) => {
  if (request.method !== 'GET') return response.writeHead(405, { allow: 'GET' }).end();
  try {
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(await readFile(file));
  } catch (error) {
    response.writeHead(500, { 'content-type': 'text/plain' }).end(`${file}: ${error.code}\n`);
  }
});
server.listen(Number(port), address, () => console.log(`listening on ${address}:${port}`));
process.on('SIGTERM', () => server.close(() => process.exit(0)).closeAllConnections());
