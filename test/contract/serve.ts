import { openLocalApi } from '../../embedded-cluster/api-server/local-api.ts';
import { startApiServer } from '../../embedded-cluster/api-server/start-api-server.ts';
import { FakeConsole } from '../../embedded-cluster/api-server/testing/fake-console.ts';

// Run by test/crash/support/api-process.ts as a separate process, which is killed: serves the cluster in the
// directory of argument 1.
const [, , directory] = process.argv;
if (directory === undefined) throw new Error('usage: serve.ts DIRECTORY');
const api = await openLocalApi({ directory });
const server = await startApiServer({ api, console: new FakeConsole(), directory, onError: console.error });
console.log(server.kubeconfig);
