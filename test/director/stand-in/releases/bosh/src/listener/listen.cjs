// listen FILE: serves what the JSON list in FILE says. Each entry has `address` and `port`; with `certificate` and `private_key` it
// is TLS. It answers a connection with the line `greeting`, or HTTP with the JSON files in `files`, by path.
'use strict';
const { createServer: createHttp } = require('node:http');
const { createServer: createHttps } = require('node:https');
const { createServer: createTcp } = require('node:net');
const { readFileSync } = require('node:fs');

const servers = JSON.parse(readFileSync(process.argv[2], 'utf8')).map((entry) => {
  const { address, port } = entry;
  const server = serverOf(entry);
  server.listen(port, address, () => console.log(`listening on ${address}:${port}`));
  return server;
});

process.on('SIGTERM', () => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections?.();
  }
  process.exit(0);
});

function serverOf({ certificate, private_key: key, greeting, files = {} }) {
  if (greeting !== undefined)
    return createTcp((socket) => {
      socket.on('error', () => socket.destroy());
      socket.write(`${greeting}\r\n`);
    });
  const answer = (request, response) => {
    const [path] = request.url.split('?');
    const file = Object.hasOwn(files, path) ? files[path] : undefined;
    if (file === undefined) return response.writeHead(404).end();
    return response.writeHead(200, { 'content-type': 'application/json' }).end(readFileSync(file));
  };
  return certificate === undefined ? createHttp(answer) : createHttps({ cert: certificate, key }, answer);
}
