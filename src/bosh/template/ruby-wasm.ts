import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { WASI } from 'node:wasi';
import { RubyVM } from '@ruby/wasm-wasi';

/**
 * `ruby` in a Node process, bundled into dist/ruby with Ruby beside it (scripts/build.ts): runs the
 * script of its argument with the stdin and stdout of this process. Started by ruby-command.ts with V8's
 * baseline compiler only: the optimizing one would take longer than all templates.
 *
 * Templates have no access to JavaScript: each function of ruby's extension `js` ends this process. WASI gets
 * no directory, no environment and no socket.
 */
// The type library has the types of WebAssembly, but not the object itself.
const compiler = Reflect.get(globalThis, 'WebAssembly') as {
  compile(bytes: Uint8Array): Promise<WebAssembly.Module>;
};
const [script] = process.argv.slice(2);
if (script === undefined) throw new Error('expected the path of a ruby script');
const runtime = join(import.meta.dirname, 'ruby+stdlib.wasm');
const [source, module] = await Promise.all([
  readFile(script, 'utf8'),
  readFile(runtime).then((bytes) => compiler.compile(bytes)),
]);
const wasi = new WASI({ version: 'preview1', returnOnExit: true });
const { vm } = await RubyVM.instantiateModule({
  module,
  wasip1: wasi,
  addToImports: (imports) => {
    const bridge = imports['rb-js-abi-host'] ?? {};
    for (const name of Object.keys(bridge)) bridge[name] = rejectJavaScript;
  },
  args: [
    'ruby.wasm',
    '-EUTF-8:UTF-8',
    '--disable=gems,did_you_mean,error_highlight,syntax_suggest,rubyopt',
    '-e_=0',
  ],
});
vm.eval(source);

function rejectJavaScript(): never {
  throw new Error('a template requested JavaScript');
}
