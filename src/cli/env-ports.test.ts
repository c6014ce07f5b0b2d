import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandInVm } from './env-ports.ts';

test("a command in a VM can be copied into a shell, whatever the name of the cluster's folder", () => {
  assert.equal(
    commandInVm('/home/one/cluster/kubeconfig')('vm-1', ['cat', '/var/vcap/sys/log/app/drain.stderr.log']),
    'kubectl --kubeconfig /home/one/cluster/kubeconfig exec vm-1 -- cat /var/vcap/sys/log/app/drain.stderr.log',
  );
  assert.equal(
    commandInVm("/home/o'ne two/kubeconfig")('vm-1', ['true']),
    `kubectl --kubeconfig '/home/o'\\''ne two/kubeconfig' exec vm-1 -- true`,
  );
  assert.equal(commandInVm()('vm-1', ['true']), 'kubectl -n NAMESPACE exec vm-1 -- true');
});
