import { compilePackage, type CompilationPorts } from '../compile/compile-package.ts';
import { parsePackages, parsePathElement, type SpecFile } from '../apply/spec.ts';
import { type Action, stringArg } from './action.ts';

export interface CompilePackageOptions extends CompilationPorts {
  readonly specFile: SpecFile;
}

/** `compile_package [blob id, digest, name, version, dependencies]` -> `{result: {blobstore_id, sha1}}`. */
export function compilePackageAction(options: CompilePackageOptions): Action {
  return {
    mode: 'asynchronous',
    cancellable: true,
    async run(args, signal) {
      const source = {
        blobId: stringArg(args, 0, 'blob id'),
        digest: stringArg(args, 1, 'digest'),
        name: parsePathElement(args[2], 'argument 3 (name)'),
        version: stringArg(args, 3, 'version'),
      };
      const dependencies = parsePackages(args[4], 'dependencies');
      const applied = await options.specFile.read();
      const { blobId, sha1 } = await compilePackage(options, { source, dependencies, applied }, signal);
      return { result: { blobstore_id: blobId, sha1 } };
    },
  };
}
