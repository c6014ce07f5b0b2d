import type { BlobStore } from '../blob/blob-store.ts';
import { compilePackage, type PackagingPorts } from '../compile/compile-package.ts';
import { parsePackages, parsePathElement, type SpecFile } from '../apply/spec.ts';
import { type Action, stringArg } from './action.ts';

export interface CompilePackageOptions extends PackagingPorts {
  readonly blobs: BlobStore;
  readonly specFile: SpecFile;
}

/** `compile_package [blob id, digest, name, version, dependencies]` -> `{result: {blobstore_id, sha1}}`. */
export function compilePackageAction(options: CompilePackageOptions): Action {
  return {
    mode: 'asynchronous',
    cancellable: true,
    async run(list, signal) {
      const source = {
        blobId: stringArg(list, 0, 'blob id'),
        digest: stringArg(list, 1, 'digest'),
        name: parsePathElement(list[2], 'argument 3 (name)'),
        version: stringArg(list, 3, 'version'),
      };
      const dependencies = parsePackages(list[4], 'dependencies');
      const applied = await options.specFile.read();
      const { blobId, sha1 } = await compilePackage(options, { source, dependencies, applied }, signal);
      return { result: { blobstore_id: blobId, sha1 } };
    },
  };
}
