// reach FILE: succeeds when each entry of the JSON list in FILE answers within a minute: an entry with `ca` by HTTPS under a
// certificate of that authority for `host`, another by the line `greeting` that it begins with.
'use strict';
const { get } = require('node:https');
const { connect } = require('node:net');
const { readFileSync } = require('node:fs');

const once = ({ host, port, ca, path = '/', greeting }) =>
  new Promise((resolve, reject) => {
    const timeout = 5000;
    const late = (connection) => connection.destroy(new Error('no answer'));
    if (ca !== undefined) {
      const request = get({ host, port, path, ca, timeout, agent: false }, (response) => {
        response.resume().on('end', resolve);
      });
      request.on('timeout', () => late(request)).on('error', reject);
      return;
    }
    const socket = connect({ host, port, timeout });
    socket.on('timeout', () => late(socket)).on('error', reject);
    socket.on('end', () => reject(new Error('closed without an answer')));
    socket.on('data', (data) => {
      socket.destroy();
      if (String(data).startsWith(greeting)) resolve();
      else reject(new Error(`it says ${JSON.stringify(String(data))}`));
    });
  });

async function reach(entry) {
  const end = Date.now() + 60_000;
  for (;;) {
    try {
      return await once(entry);
    } catch (error) {
      if (Date.now() > end)
        throw new Error(`${entry.host}:${entry.port}: ${error.message}`, { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

Promise.all(JSON.parse(readFileSync(process.argv[2], 'utf8')).map(reach)).catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
