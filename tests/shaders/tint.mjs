// Compiles WGSL files with Dawn's Tint on a device that does nothing (npm package webgpu), and ends with 1 where one is
// refused. Arguments: pairs of a WGSL file and its entry point.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { create } from "webgpu";

const gpu = create(["backend=null"]);
const adapter = await gpu.requestAdapter();
const { maxStorageBuffersPerShaderStage } = adapter.limits;
const device = await adapter.requestDevice({ requiredLimits: { maxStorageBuffersPerShaderStage } });
device.addEventListener?.("uncapturederror", () => {});
let refused = 0;
for (let i = 2; i + 1 < process.argv.length; i += 2) {
  const [file, entryPoint] = [process.argv[i], process.argv[i + 1]];
  device.pushErrorScope("validation");
  const module = device.createShaderModule({ code: readFileSync(file, "utf8") });
  let why = null;
  try {
    await device.createComputePipelineAsync({ layout: "auto", compute: { module, entryPoint } });
  } catch (error) {
    why = String(error.message ?? error).split("\n")[0];
  }
  const error = await device.popErrorScope();
  why ??= error?.message.split("\n")[0] ?? null;
  console.log(`${basename(file)}: ${why ?? "accepted"}`);
  if (why) refused = 1;
}
process.exit(refused);
