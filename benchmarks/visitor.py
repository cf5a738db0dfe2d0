"""Visitors of the app who speak Streamlit's websocket protocol as a browser does.

No library does so: Streamlit's own AppTest needs the script and its session state in the same process.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import requests
from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.Slider_pb2 import Slider
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from tests.server import Server

FINISHED = ForwardMsg.FINISHED_SUCCESSFULLY


@dataclass
class Visitor:
    """One browser tab, as the server sees it."""

    server: Server
    socket: ClientConnection
    token: str  # against requests from foreign pages, a cookie and a header
    query: str  # of the address
    page: str  # its path, "" is the first
    session: str = ""
    script: str = ""  # the page's hash
    elements: dict[tuple[int, ...], Element] = field(default_factory=dict)  # by their place on the page
    widgets: dict[str, WidgetState] = field(default_factory=dict)  # what the visitor has set, by the widget's id
    faults: list[str] = field(default_factory=list)  # error messages and exceptions since the last request

    async def rerun(self) -> None:
        """Ask for the page with the widgets as they are now; wait for the end of the script."""
        await self.send()
        await self.until(FINISHED)

    async def send(self) -> None:
        """Ask for the page with the widgets as they are now."""
        message = BackMsg()
        message.rerun_script.query_string = self.query
        message.rerun_script.page_script_hash = self.script
        if not self.script:
            message.rerun_script.page_name = self.page
        message.rerun_script.widget_states.widgets.extend(self.widgets.values())
        self.faults.clear()
        await self.socket.send(message.SerializeToString())

    async def until(self, awaited: object) -> ForwardMsg:
        """Take messages until a script has finished (``FINISHED``), or one of a kind has come."""
        while True:
            message: ForwardMsg = ForwardMsg.FromString(await self.socket.recv(decode=False))
            kind = message.WhichOneof("type")
            self._take(message, kind)
            if awaited == kind or (kind == "script_finished" and message.script_finished == awaited):
                break
        if awaited == FINISHED:  # a browser forgets what is no longer on the page, and a button's click
            there = {_widget(element).id for element in self.elements.values() if hasattr(_widget(element), "id")}
            self.widgets = {
                key: state
                for key, state in self.widgets.items()
                if key in there and state.WhichOneof("value") != "trigger_value"
            }
        return message

    def _take(self, message: ForwardMsg, kind: str | None) -> None:
        if kind == "new_session":
            self.session = message.new_session.initialize.session_id or self.session
            self.script = message.new_session.page_script_hash
            if not message.metadata.run.fragment_ids:
                self.elements.clear()
        elif kind == "navigation":
            self.script = message.navigation.page_script_hash
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "delta" and message.delta.HasField("new_element"):
            element = message.delta.new_element
            self.elements[tuple(message.metadata.delta_path)] = element
            if element.HasField("exception"):
                self.faults.append(f"exception {element.exception.type}: {element.exception.message}")
            elif element.HasField("alert") and element.alert.format == Alert.ERROR:
                self.faults.append(f"error message: {element.alert.body}")
        elif kind == "script_finished" and message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
            raise RuntimeError("the script does not compile")

    def charts(self, *keys: str) -> list[str]:
        """The charts of these keys that are on the page."""
        found = {_key(each.plotly_chart.id): each.plotly_chart.spec for each in self.elements.values()}
        return [found[key] for key in keys if key in found]

    def choose(self, label: str, value: Any) -> None:
        """Set the widget whose label begins so; a selectbox takes the number of the option, or the option."""
        widgets = map(_widget, self.elements.values())
        widget = [each for each in widgets if getattr(each, "label", "").startswith(label)][0]  # noqa: RUF015
        state = WidgetState(id=widget.id)
        if widget.DESCRIPTOR.name == "Selectbox":
            state.string_value = widget.options[value] if isinstance(value, int) else value
        elif widget.DESCRIPTOR.name == "Slider" and widget.type != Slider.SELECT_SLIDER:
            state.double_array_value.data.append(value)
        else:
            state.string_array_value.data.append(str(value))
        self.widgets[widget.id] = state

    def click(self, label: str) -> None:
        """Click a button."""
        (button,) = (each.button for each in self.elements.values() if each.button.label == label)
        self.widgets[button.id] = WidgetState(id=button.id, trigger_value=True)

    async def upload(self, name: str, data: bytes) -> None:
        """Put a file into the uploader."""
        message = BackMsg()
        request = message.file_urls_request
        request.request_id, request.session_id = uuid4().hex, self.session
        request.file_names.append(name)
        await self.socket.send(message.SerializeToString())
        (urls,) = (await self.until("file_urls_response")).file_urls_response.file_urls
        reply = await asyncio.to_thread(
            requests.put,
            f"{self.server.address}{urls.upload_url}",
            files={name: (name, data)},
            headers={"X-Xsrftoken": self.token},
            cookies={"_streamlit_xsrf": self.token},
            timeout=120,
        )
        reply.raise_for_status()
        uploaders = [each.file_uploader for each in self.elements.values() if each.HasField("file_uploader")]
        (widget,) = (each for each in uploaders if _key(each.id) == "upload")
        state = WidgetState(id=widget.id)
        file = state.file_uploader_state_value.uploaded_file_info.add()
        file.file_id, file.name, file.size = urls.file_id, name, len(data)
        file.file_urls.CopyFrom(urls)
        self.widgets[widget.id] = state


@asynccontextmanager
async def visiting(server: Server, page: str = "", *, until: str | None = None, **query: str) -> AsyncIterator[Visitor]:
    """Open the app as a browser does, and wait for the page, or for its first element of a kind."""
    first = await asyncio.to_thread(requests.get, f"{server.address}/_stcore/health", timeout=60)
    token = first.cookies.get("_streamlit_xsrf") or ""
    async with connect(
        f"{server.address.replace('http', 'ws', 1)}/_stcore/stream",
        subprotocols=[Subprotocol("streamlit"), Subprotocol(token)],
        additional_headers={"Cookie": f"_streamlit_xsrf={token}"},
        origin=Origin(server.address),
        max_size=None,
        open_timeout=60,
        ping_interval=None,  # a browser sends none
        proxy=None,
    ) as websocket:
        visitor = Visitor(server, websocket, token, urlencode(query), page)
        await visitor.send()
        while until and not any(each.HasField(until) for each in visitor.elements.values()):  # type: ignore[arg-type]
            await visitor.until("delta")
        if until is None:
            await visitor.until(FINISHED)
        yield visitor


def _widget(element: Element) -> Any:
    return getattr(element, element.WhichOneof("type") or "empty")


def _key(identifier: str) -> str:
    """The key in a widget's id: $$ID-hash-key."""
    return identifier.split("-", 2)[-1]
