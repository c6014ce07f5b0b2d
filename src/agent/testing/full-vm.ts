/**
 * Prints how an upload of the deployer fails if TMPDIR, which contains the VM, is a file system without room
 * for the named file.
 */
import { createAgentClient } from '../../bosh/agent-client/create-agent-client.ts';
import { systemClock } from '../../platform/clock.ts';
import { TestVm } from './test-vm.ts';

const vm = await TestVm.create();
await vm.start();
const { mbusUrl, ca } = vm;
const client = createAgentClient({ mbusUrl, ca, directorId: 'd', clock: systemClock });
await client.putBlob(process.argv[2] ?? '').then(
  () => console.log('uploaded'),
  (error: Error) => console.log(error.message),
);
await vm.remove();
