import { compilePackage, type CompilationPorts } from '../compile/compile-package.ts';
import { parsePackages, parsePathElement, type SpecFile } from '../apply/spec.ts';
import { type Action, argument } from './action.ts';

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
        blobId: argument(args, 0, 'blob id').nonEmptyString(),
        digest: argument(args, 1, 'digest').nonEmptyString(),
        name: parsePathElement(argument(args, 2, 'name')),
        version: argument(args, 3, 'version').nonEmptyString(),
      };
      const dependencies = parsePackages(argument(args, 4, 'dependencies'));
      const applied = await options.specFile.read();
      const { blobId, sha1 } = await compilePackage(options, { source, dependencies, applied }, signal);
      return { result: { blobstore_id: blobId, sha1 } };
    },
  };
}
