// Makes the mounts that must exist before the cluster enters its user namespace (daemon/init.sh). This is a
// separate program, because the cluster's own code takes longer to load than this work takes. Arguments: the
// cluster's directory, the runtime directory.
import { realpath } from 'node:fs/promises';
import { isProductError } from '../../src/errors/product-error.ts';
import { prepareHost } from './host-root/prepare-host.ts';
import { nodeLayout } from './node-paths.ts';

const [directory, runtimeDirectory] = process.argv.slice(2);
if (directory === undefined || runtimeDirectory === undefined) {
  throw new Error('usage: prepare-host-main.ts <directory> <runtime directory>');
}
try {
  await prepareHost(nodeLayout(await realpath(directory)), runtimeDirectory);
} catch (error) {
  console.error(isProductError(error) ? error.message : error);
  process.exit(1);
}
