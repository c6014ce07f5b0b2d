import { multiDigestOfFile } from '../blob/digest.ts';
import { requireSignedUrl } from '../blob/signed-url.ts';
import {
  compilePackage,
  type CompilationPorts,
  type CompilationRequest,
} from '../compile/compile-package.ts';
import { parsePackages, parsePathElement, type SpecFile } from '../apply/spec.ts';
import { type Action, objectArg, stringArg } from './action.ts';

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
      const request = await requestOf(options, source, args[4]);
      const { id, sha1 } = await compilePackage(
        options,
        request,
        (fill) => options.blobs.store(fill),
        signal,
      );
      return { result: { blobstore_id: id, sha1 } };
    },
  };
}

/**
 * `compile_package_with_signed_url [{package_get_signed_url, upload_signed_url, digest, name, version, deps,
 * blobstore_headers}]` -> `{result: {sha1}}`, with SHA-1 and SHA-512 (bosh-agent:
 * agent/action/compile_package_with_signed_url.go).
 */
export function compilePackageWithSignedUrl(options: CompilePackageOptions): Action {
  return {
    mode: 'asynchronous',
    cancellable: true,
    async run(args, signal) {
      const argument = objectArg(args, 0, 'request');
      const headers = argument['blobstore_headers'];
      const source = {
        blobId: '',
        signed: requireSignedUrl(argument['package_get_signed_url'], headers, 'package_get_signed_url'),
        digest: stringArg([argument['digest']], 0, 'digest'),
        name: parsePathElement(argument['name'], 'name'),
        version: stringArg([argument['version']], 0, 'version'),
      };
      const target = requireSignedUrl(argument['upload_signed_url'], headers, 'upload_signed_url');
      const request = await requestOf(options, source, argument['deps']);
      const sha1 = await compilePackage(
        options,
        request,
        (fill) => options.blobs.upload(target, fill, multiDigestOfFile),
        signal,
      );
      return { result: { sha1 } };
    },
  };
}

const requestOf = async (
  { specFile }: CompilePackageOptions,
  source: CompilationRequest['source'],
  dependencies: unknown,
): Promise<CompilationRequest> => ({
  source,
  dependencies: parsePackages(dependencies, 'dependencies'),
  applied: await specFile.read(),
});
