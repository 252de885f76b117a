-- Dissects what `anybinder trace export --format pcapng` writes: Binder calls, replies, one-ways and failures.
-- Put it among the plugins of Wireshark, or say `tshark -X lua_script:anybinder.lua -r FILE`.

local binder = Proto("binder_trace", "Binder")

local kinds = { [0] = "call", [1] = "one-way", [2] = "reply", [3] = "failed" }

local f = {
    version = ProtoField.uint8("binder.version", "Version"),
    kind = ProtoField.uint8("binder.kind", "Kind", base.DEC, kinds),
    id = ProtoField.uint32("binder.id", "Transaction"),
    within = ProtoField.uint32("binder.within", "Within"),
    from_pid = ProtoField.uint32("binder.from.pid", "From process"),
    from_tid = ProtoField.uint32("binder.from.tid", "From thread"),
    to_pid = ProtoField.uint32("binder.to.pid", "To process"),
    to_tid = ProtoField.uint32("binder.to.tid", "To thread"),
    node = ProtoField.uint32("binder.node", "Object"),
    code = ProtoField.uint32("binder.code", "Code"),
    flags = ProtoField.uint32("binder.flags", "Flags", base.HEX),
    size = ProtoField.uint64("binder.size", "Bytes of data"),
    queue = ProtoField.uint64("binder.queue_ns", "Queued (ns)"),
    service = ProtoField.uint64("binder.service_ns", "Served (ns)"),
    device = ProtoField.string("binder.device", "Device"),
    from_name = ProtoField.string("binder.from.name", "From"),
    to_name = ProtoField.string("binder.to.name", "To"),
    interface = ProtoField.string("binder.interface", "Interface"),
    method = ProtoField.string("binder.method", "Method"),
    status = ProtoField.string("binder.status", "Status"),
    data = ProtoField.bytes("binder.data", "Data"),
}
binder.fields = f

local words = { "id", "within", "from_pid", "from_tid", "to_pid", "to_tid", "node", "code", "flags" }
local wides = { "size", "queue", "service" }
local texts = { "device", "from_name", "to_name", "interface", "method", "status" }

function binder.dissector(buffer, pinfo, tree)
    if buffer:len() < 62 or buffer(0, 1):uint() ~= 1 then return 0 end
    local subtree = tree:add(binder, buffer(), "Binder")
    subtree:add(f.version, buffer(0, 1))
    subtree:add(f.kind, buffer(1, 1))
    local at, value = 2, {}
    for _, name in ipairs(words) do
        subtree:add(f[name], buffer(at, 4))
        value[name] = buffer(at, 4):uint()
        at = at + 4
    end
    for _, name in ipairs(wides) do
        subtree:add(f[name], buffer(at, 8))
        at = at + 8
    end
    for _, name in ipairs(texts) do
        local len = buffer(at, 2):uint()
        value[name] = len > 0 and buffer(at + 2, len):string() or ""
        if len > 0 then subtree:add(f[name], buffer(at + 2, len)) end
        at = at + 2 + len
    end
    local len = buffer(at, 2):uint()
    if len > 0 then subtree:add(f.data, buffer(at + 2, len)) end
    local kind = kinds[buffer(1, 1):uint()] or "?"
    pinfo.cols.protocol = "Binder"
    pinfo.cols.src = value.from_pid .. " " .. value.from_name
    pinfo.cols.dst = value.to_pid .. " " .. value.to_name
    local interface = value.interface ~= "" and value.interface .. "." or ""
    local info = kind .. " " .. value.id .. " " .. interface .. value.method
    if kind == "failed" then info = info .. " " .. value.status end
    pinfo.cols.info = info
    return at + 2 + len
end

-- LINKTYPE_USER0, as libwiretap numbers it.
DissectorTable.get("wtap_encap"):add(wtap.USER0, binder)
